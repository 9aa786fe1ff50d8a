import t from 'tap'
import { allows, formatTarget, parseTarget } from '../targets.ts'

t.test('an entry is normalized', async t => {
  for (const [given, kept] of [
    ['10.0.0.1', '10.0.0.1'],
    ['10.0.0.1/32:80', '10.0.0.1:80'],
    ['10.0.0.0/8:80-80', '10.0.0.0/8:80'],
    ['0.0.0.0/0:1-65535', '0.0.0.0/0:1-65535'],
    ['FD00:0::1', 'fd00::1'],
    ['[fd00::1]', 'fd00::1'],
    ['[FD00::/8]:443', '[fd00::/8]:443'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
    ['10.0.0.1/8', '10.0.0.0/8'],
    ['[2001:DB8::1/32]:443', '[2001:db8::/32]:443'],
    ['DB.Example.:5000-5010', 'db.example:5000-5010']
  ] as const) {
    t.equal(formatTarget(parseTarget(given, '/targets/0')), kept, given)
    t.equal(formatTarget(parseTarget(kept, '/targets/0')), kept)
  }
})

t.test('an invalid entry is refused with its field', async t => {
  for (const given of [
    '',
    'a b',
    '*.example',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.256',
    '10.0',
    'fd00::/129',
    '::ffff:10.0.0.0/90',
    'fe80::1%eth0',
    '[db.example]:80',
    '10.0.0.1:0',
    '10.0.0.1:65536',
    '10.0.0.1:9-8',
    '10.0.0.1:',
    'http://db.example'
  ])
    t.throws(() => parseTarget(given, '/targets/3'), { message: /^\/targets\/3 / }, given)
})

t.test('every port of a range must be allowed, by one entry or by several', async t => {
  const list = ['10.0.0.0/8:80-85', '10.0.0.1:86-90', '10.0.0.1:92'].map(entry =>
    parseTarget(entry, '/targets')
  )

  for (const [host, from, to, expected] of [
    ['10.0.0.1', 80, 90, true],
    ['10.0.0.1', 80, 91, false],
    ['10.0.0.1', 92, 92, true],
    ['10.0.0.2', 80, 86, false],
    ['some.example', 80, 90, true],
    ['some.example', 443, 443, false]
  ] as const)
    t.equal(allows(list, { host, from, to }), expected, `${host} ${from}-${to}`)
})

t.test('an IPv6 address that leads to an IPv4 address must be in the list with it', async t => {
  const parse = (entries: readonly string[]) => entries.map(entry => parseTarget(entry, '/targets'))
  const outside = { host: '64:ff9b::a9fe:a9fe', from: 80, to: 80 }
  const inside = { ...outside, host: '64:ff9b::a00:1' }

  t.notOk(allows(parse(['10.0.0.0/8']), inside))
  t.notOk(allows(parse(['64:ff9b::/96']), inside))
  t.ok(allows(parse(['64:ff9b::/96', '10.0.0.0/8']), inside))
  t.notOk(allows(parse(['64:ff9b::/96', '10.0.0.0/8']), outside))
  t.notOk(allows(parse(['::/0']), { ...outside, host: '2002:a9fe:a9fe::1' }))
  t.ok(allows(parse(['::/0']), { ...outside, host: '2001:db8::1' }))
})
