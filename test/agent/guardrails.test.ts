import t from 'tap'
import { readAgentConfig } from '../../agent/config.ts'
import { openGuardrails } from '../../agent/rules/guardrails.ts'

const none = { allow_ports: [], allow_targets: [], deny_targets: [], deny_local_ports: [] }
const rule = (host: string, port = 80, from = 8080, to = from) => ({ from, to, targets: [{ host, port }] })
const denied = { name: 'Refused', code: 'denied_by_agent' }

t.test(
  'by default link-local, multicast and unspecified targets are denied, also in IPv4-mapped form',
  async t => {
    const { admit } = readAgentConfig({ file: null, env: {} }).guardrails
    const bad = ['169.254.169.254', 'fe80::1', '224.0.0.1', 'ff02::1', '0.0.0.0', '::', '::ffff:169.254.1.1']
    const good = ['127.0.0.1', '::1', '10.0.0.1', '2001:db8::1', '::ffff:10.0.0.1', 'metadata.internal']

    for (const host of bad) t.throws(() => admit(rule(host)), denied, host)
    for (const host of good) t.doesNotThrow(() => admit(rule(host)), host)
  }
)

t.test('by default the metadata services of clouds are denied, in each form of their addresses', async t => {
  const { admit } = readAgentConfig({ file: null, env: {} }).guardrails
  for (const host of [
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:c1::a9fe:a9fe',
    'fd00:a9fe:a9fe::1',
    'fd00:42::42',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '::ffff:0:a9fe:a9fe',
    '2001:0:4136:e378:8000:63bf:5601:5601',
    '::ffff:168.63.129.16',
    '64:ff9b::a83f:8110'
  ])
    t.throws(() => admit(rule(host)), denied, host)
})

t.test('deny_local_ports denies the ports on every address of this machine, and nowhere else', async t => {
  const { admit } = openGuardrails({ ...none, deny_local_ports: [7080, '9000-9001'] }, [])
  for (const host of [
    '127.0.0.1',
    '127.1.2.3',
    '::1',
    '::ffff:127.0.0.1',
    '0.0.0.0',
    '::',
    '64:ff9b::7f00:1'
  ])
    for (const port of [7080, 9001]) t.throws(() => admit(rule(host, port)), denied, host)

  t.throws(() => admit(rule('127.0.0.1', 7079, 8080, 8081)), denied, 'the second port of the range')
  t.doesNotThrow(() => admit(rule('127.0.0.1', 7081)))
  t.doesNotThrow(() => admit(rule('198.51.100.1', 7080)))
})

t.test("the agent's own metrics are no target", async t => {
  const env = { SVC_AGENT_METRICS_LISTEN: '127.0.0.1:7082', SVC_DENY_LOCAL_PORTS: '7080,7443-7444' }
  const { admit } = readAgentConfig({ file: null, env }).guardrails

  for (const port of [7082, 7080, 7444]) t.throws(() => admit(rule('127.0.0.1', port)), denied, String(port))
  t.doesNotThrow(() => admit(rule('127.0.0.1', 7081)))
})

t.test('every port of a rule must be in allow_ports', async t => {
  const { admit } = openGuardrails({ ...none, allow_ports: [443, '8000-8999'] }, [])

  for (const [from, to] of [
    [443, 443],
    [8000, 8999]
  ] as const)
    t.doesNotThrow(() => admit(rule('10.0.0.1', 80, from, to)))
  for (const [from, to] of [
    [80, 80],
    [8990, 9000],
    [442, 443]
  ] as const)
    t.throws(() => admit(rule('10.0.0.1', 80, from, to)), denied)
})

t.test('allow_targets can limit ports, deny_targets wins, and names are checked at the dial', async t => {
  const { admit, filter } = openGuardrails(
    {
      ...none,
      allow_targets: ['10.0.0.0/8:80-90', '[fd00::/8]:443', 'db.internal'],
      deny_targets: ['10.9.0.0/16']
    },
    []
  )

  t.doesNotThrow(() => admit(rule('10.1.2.3', 80)))
  t.doesNotThrow(() => admit(rule('fd00::1', 443)))
  t.doesNotThrow(() => admit(rule('elsewhere.example', 1)))
  t.throws(() => admit(rule('10.1.2.3', 91)), denied)
  t.throws(() => admit(rule('10.1.2.3', 90, 8080, 8081)), denied, 'the second port of the range')
  t.throws(() => admit(rule('10.9.0.1', 80)), denied)
  t.throws(() => admit(rule('192.0.2.1', 80)), denied)
  t.match(filter, {
    allow: [
      { cidr: '10.0.0.0/8', ports: [80, 90] },
      { cidr: 'fd00::/8', ports: [443, 443] },
      { host: 'db.internal' }
    ],
    deny: [{ cidr: '10.9.0.0/16' }],
    refusal: 'denied_by_agent'
  })
})

t.test('an invalid entry is reported with its key', async t => {
  const bad: [key: 'allow_ports' | 'allow_targets' | 'deny_targets' | 'deny_local_ports', text: string][] = [
    ['allow_ports', '0'],
    ['allow_ports', '90-80'],
    ['allow_ports', '65536'],
    ['allow_ports', 'http'],
    ['allow_targets', '10.0.0.0/33'],
    ['allow_targets', '10.0.0.0/'],
    ['allow_targets', '::ffff:10.0.0.0/90'],
    ['deny_local_ports', '70000'],
    ['deny_targets', '10.0.0'],
    ['deny_targets', '10.0.0.1:0'],
    ['deny_targets', 'a b'],
    ['deny_targets', '[fd00::1']
  ]
  for (const [key, text] of bad) {
    const problems: string[] = []
    openGuardrails({ ...none, [key]: [text] }, problems)
    t.match(problems, [/ is invalid; write /])
    t.ok(problems[0]?.startsWith(`${key}: ${text} `), text)
  }
})

t.test('an IPv4-mapped prefix equals the IPv4 prefix', async t => {
  const { admit } = openGuardrails({ ...none, deny_targets: ['::ffff:10.0.0.0/104'] }, [])

  t.throws(() => admit(rule('10.1.2.3')), denied)
  t.throws(() => admit(rule('::ffff:10.1.2.3')), denied)
  t.doesNotThrow(() => admit(rule('11.1.2.3')))
})
