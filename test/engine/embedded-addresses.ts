// IPv6 addresses and the IPv4 address that a translator or tunnel makes of each; null: none. Both engines and the server
// must agree on them.
export const embeddedAddresses: readonly (readonly [address: string, embedded: string | null])[] = [
  ['64:ff9b::a9fe:a9fe', '169.254.169.254'], // NAT64
  ['64:ff9b::7f00:1', '127.0.0.1'],
  ['64:ff9b:0:0:0:1:a9fe:a9fe', null],
  ['64:ff9b:1::a9fe:a9fe', '169.254.169.254'], // NAT64 with a local prefix of 96 bits
  ['64:ff9b:1:2:3:4:a00:1', '10.0.0.1'],
  ['64:ff9b:1:a9fe:a9:fe00::', '169.254.169.254'], // of 48 bits
  ['64:ff9b:1:7a9:fe:a9fe::', '169.254.169.254'], // of 56 bits
  ['64:ff9b:1:789:a9:fea9:fe00:0', '169.254.169.254'], // of 64 bits
  ['64:ff9b:2::a9fe:a9fe', null],
  ['2002:a9fe:a9fe::1', '169.254.169.254'], // 6to4
  ['2002:a00:1:2:3:4:5:6', '10.0.0.1'],
  ['2001:0:4136:e378:8000:63bf:5601:5601', '169.254.169.254'], // Teredo
  ['2001:db8::5601:5601', null],
  ['::ffff:0:a9fe:a9fe', '169.254.169.254'], // SIIT
  ['::ffff:1:a9fe:a9fe', null],
  ['::a9fe:a9fe', '169.254.169.254'], // IPv4-compatible
  ['::1:a9fe:a9fe', null],
  ['::2', '0.0.0.2'],
  ['::1', null],
  ['fd00:ec2::254', null],
  ['2606:4700::a9fe:a9fe', null]
]
