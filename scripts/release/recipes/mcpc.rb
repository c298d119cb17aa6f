class Mcpc < Formula
  desc "Client for the Model Context Protocol, and inspector of its traffic"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "Apache-2.0"
  on_macos do
    on_arm do
      url "{{(file "darwin" "arm64").URL}}"
      sha256 "{{(file "darwin" "arm64").Sum}}"
    end
    on_intel do
      url "{{(file "darwin" "amd64").URL}}"
      sha256 "{{(file "darwin" "amd64").Sum}}"
    end
  end

  on_linux do
    on_arm do
      url "{{(file "linux" "arm64").URL}}"
      sha256 "{{(file "linux" "arm64").Sum}}"
    end
    on_intel do
      url "{{(file "linux" "amd64").URL}}"
      sha256 "{{(file "linux" "amd64").Sum}}"
    end
  end

  def install
    bin.install "mcpc"
    bin.install_symlink "mcpc" => "mcpcli"
    man1.install Dir["man/man1/*.1"]
    man7.install Dir["man/man7/*.7"]
    bash_completion.install "completions/mcpc.bash" => "mcpc"
    zsh_completion.install "completions/_mcpc"
    fish_completion.install "completions/mcpc.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcpc --version")
    assert_match "Echo: hi", shell_output("#{bin}/mcpc -s demo call echo '{\"message\":\"hi\"}'")
  end
end
