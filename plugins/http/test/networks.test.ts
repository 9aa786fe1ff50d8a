import t from 'tap'
import { openNetworks } from '../request/networks.ts'

t.test('an address is in a network of its family; an IPv4-mapped one is an IPv4 address', async t => {
  const isProxy = openNetworks(['192.0.2.0/24', '198.51.100.7', '2001:db8::/32', '::1'])

  for (const address of ['192.0.2.9', '::ffff:192.0.2.9', '198.51.100.7', '2001:db8::5', '::1'])
    t.ok(isProxy(address), address)
  for (const address of ['192.0.3.1', '198.51.100.8', '2001:db9::1', '::2', '::ffff:192.0.3.1'])
    t.notOk(isProxy(address), address)
  t.notOk(openNetworks([])('::1'))
  for (const text of ['', 'proxy', '127.1', '1', '192.0.2.0/33', '0x7f.1', '::1/'])
    t.throws(() => openNetworks([text]), { message: /is not an address or a network/ }, text)
})
