import t from 'tap'
import { isLoopback, networkOf } from '../../kernel/platform/network.ts'

t.test('a network is a single IPv4 address or an IPv6 /64', async t => {
  t.equal(networkOf('192.0.2.1'), '192.0.2.1')
  t.equal(networkOf('2001:db8:1:2:3:4:5:6'), networkOf('2001:db8:1:2::1'))
  t.not(networkOf('2001:db8:1:2::1'), networkOf('2001:db8:1:3::1'))
})

t.test('IPv4 callers of a dual-stack socket are separate networks in every notation', async t => {
  for (const mapped of ['::ffff:192.0.2.1', '::FFFF:192.0.2.1', '::ffff:c000:201'])
    t.equal(networkOf(mapped), '192.0.2.1', mapped)
  t.not(networkOf('::ffff:c000:201'), networkOf('::ffff:c000:202'))
})

t.test('IPv4 callers behind a translator are separate networks', async t => {
  t.equal(networkOf('64:ff9b::c000:201'), '192.0.2.1', 'NAT64')
  t.equal(networkOf('::ffff:0:c000:201'), '192.0.2.1', 'SIIT')
  t.equal(networkOf('2002:c000:201:7::1'), '192.0.2.1', '6to4')
  t.not(networkOf('64:ff9b::c000:201'), networkOf('64:ff9b::c000:202'))
  t.not(networkOf('::1'), networkOf('::2'), 'IPv4-compatible')
})

t.test('text that is not an address stays unchanged', async t => {
  for (const text of ['', 'others', 'no address', '2001:db8::/32']) t.equal(networkOf(text), text)
})

t.test('loopback is known in every notation', async t => {
  for (const host of [
    'localhost',
    'LOCALHOST.',
    '127.1.2.3',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1'
  ])
    t.ok(isLoopback(host), host)
  for (const host of ['', '0.0.0.0', '128.0.0.1', '::2', '127.0.0.1.example', 'localhost.example'])
    t.notOk(isLoopback(host), host)
})
