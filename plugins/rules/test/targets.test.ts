import t from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import { parseHost, parseTargets } from '../changes/parse-draft.ts'
import { rulesFixture } from './fixture.ts'

const errorCodeOf = (work: () => unknown): string => {
  try {
    return `no refusal: ${JSON.stringify(work())}`
  } catch (error) {
    return error instanceof Fault ? error.errorCode.code : String(error)
  }
}

t.test('a host is normalized', async t => {
  const name = `${'a'.repeat(63)}.`.repeat(3) + 'b'.repeat(61)
  for (const [given, normalised] of [
    ['10.0.0.1', '10.0.0.1'],
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['[::FFFF:0A00:0001]', '10.0.0.1'],
    ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
    ['::1:2:3', '::1:2:3'],
    ['localhost', 'localhost'],
    ['Web.Example.COM.', 'web.example.com'],
    ['_sip._tcp.example', '_sip._tcp.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['1a.2b', '1a.2b'],
    [name, name]
  ] as const)
    t.equal(parseHost(given, '/host'), normalised, given)
})

t.test('an invalid or ambiguous host is refused', async t => {
  const hosts = [
    '',
    '.',
    'a..b',
    'a.example..',
    'a b',
    'a.example:80',
    '[::1]:80',
    '[::1',
    '[10.0.0.1]',
    '[a.example]',
    '-a.example',
    'a-.example',
    'a.example/x',
    'a'.repeat(64),
    `${'a'.repeat(63)}.`.repeat(3) + 'b'.repeat(62),
    'fe80::1%eth0',
    '0.0.0.0',
    '::',
    '::ffff:0.0.0.0',
    '224.0.0.1',
    'ff02::1',
    '::ffff:224.0.0.1',
    '::1.2.3.4',
    '[::1.2.3.4]',
    '0:0:0:0:0:0:1.2.3.4',
    '::102:304',
    '::2',
    '::0.0.0.0',
    '255.255.255.255',
    '1.2.3',
    '010.0.0.1',
    '256.1.1.1',
    'a.example.7',
    '0x7f.0x1',
    '1'
  ]
  for (const host of hosts)
    t.equal(
      errorCodeOf(() => parseHost(host, '/host')),
      'validation.target_host',
      host
    )
})

t.test('a name that is not ASCII is refused with its ASCII form', async t => {
  t.throws(() => parseHost('Bücher.example', '/host'), { message: /write xn--bcher-kva\.example/ })
})

t.test('a rule has 1 to 8 distinct targets; the default priority is the index', async t => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ host: `h${at}.example`, port: 80 }))

  t.equal(
    errorCodeOf(() => parseTargets([])),
    'validation.targets_empty'
  )
  t.equal(
    errorCodeOf(() => parseTargets(many(9))),
    'validation.targets_too_many'
  )
  t.equal(
    errorCodeOf(() =>
      parseTargets([
        { host: 'A.example.', port: 80 },
        { host: 'a.example', port: 80 }
      ])
    ),
    'validation.targets_duplicate'
  )
  t.same(
    parseTargets([
      { host: 'a.example', port: 80, priority: 65535 },
      { host: 'a.example', port: 81 },
      { host: 'b.example', port: 80 }
    ]).map(({ priority }) => priority),
    [65535, 1, 2]
  )
  t.equal(parseTargets(many(8)).length, 8)
})

t.test('an invalid body is refused with the name of the field, before any other check', async t => {
  const app = await rulesFixture(t)
  const table: readonly [object, string, string][] = [
    [{ targets: [] }, 'validation.targets_empty', '/targets'],
    [{ targets: [{ host: '::', port: 80 }] }, 'validation.target_host', '/targets/0/host'],
    [{ targets: [{ host: 'a.example', port: 0 }] }, 'validation.schema', '/targets/0/port'],
    [
      { targets: [{ host: 'a.example', port: 1, health: {} }] },
      'validation.unknown_field',
      '/targets/0/health'
    ],
    [{ targets: undefined }, 'validation.schema', '/targets'],
    [{ protocol: 'sctp' }, 'validation.protocol', '/protocol'],
    [{ protocol: 6 }, 'validation.protocol', '/protocol'],
    [{ listen_port: 65536 }, 'validation.schema', '/listen_port'],
    [{ lisen_port: 80 }, 'validation.unknown_field', '/lisen_port'],
    [{ rule_id: 'x' }, 'validation.unknown_field', '/rule_id']
  ]
  for (const [body, code, field] of table) {
    const { status, body: reply } = await app.push({ client: 'nobody', ...body })
    t.match({ status, ...reply }, { status: 400, error: { code, details: { field } } }, field)
  }
  for (const query of ['?ack_timeout_secs=0', '?ack_timeout_secs=61', '?ack_timeout_secs=x', '?wait=1'])
    t.equal((await app.push({}, query)).status, 400, query)
})
