{
  description = "Client for the Model Context Protocol, and inspector of its traffic";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      forEach = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
    in
    {
      packages = forEach (pkgs: {
        default = pkgs.buildGoModule {
          pname = "mcpc";
          version = self.shortRev or "dirty";
          src = self;
          subPackages = [ "cmd/mcpc" ];
          # The hash of go mod vendor's folder; scripts/release.sh compares it.
          vendorHash = "sha256-9WJ+WJwrT0Ga6ZjEBwdZvN/eeF+jU6U+AbBu8eh+ccc=";
          env.CGO_ENABLED = 0;
          # The tests need Node and servers: scripts/check.sh runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            ln -s mcpc $out/bin/mcpcli
          '' + pkgs.lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            $out/bin/mcpc man $TMPDIR/man
            installManPage $TMPDIR/man/man*/*
            installShellCompletion --cmd mcpc \
              --bash <($out/bin/mcpc completion bash) \
              --zsh <($out/bin/mcpc completion zsh) \
              --fish <($out/bin/mcpc completion fish)
          '';
          meta = {
            description = "Client for the Model Context Protocol, and inspector of its traffic";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "mcpc";
          };
        };
      });

      apps = forEach (pkgs: {
        default = {
          type = "app";
          program = "${self.packages.${pkgs.stdenv.hostPlatform.system}.default}/bin/mcpc";
        };
      });
    };
}
