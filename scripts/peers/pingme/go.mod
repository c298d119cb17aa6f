module mcpc/scripts/peers/pingme

go 1.26.0
