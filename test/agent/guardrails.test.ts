import t from 'tap'
import { readAgentConfig } from '../../agent/config.ts'
import { openGuardrails } from '../../agent/rules/guardrails.ts'

const none = { allow_ports: [], allow_targets: [], deny_targets: [] }
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
  const bad: [key: 'allow_ports' | 'allow_targets' | 'deny_targets', text: string][] = [
    ['allow_ports', '0'],
    ['allow_ports', '90-80'],
    ['allow_ports', '65536'],
    ['allow_ports', 'http'],
    ['allow_targets', '10.0.0.0/33'],
    ['allow_targets', '10.0.0.0/'],
    ['allow_targets', '::ffff:10.0.0.0/90'],
    ['deny_targets', '10.0.0'],
    ['deny_targets', '10.0.0.1:0'],
    ['deny_targets', 'a b'],
    ['deny_targets', '[fd00::1']
  ]
  for (const [key, text] of bad) {
    const problems: string[] = []
    openGuardrails({ ...none, [key]: [text] }, problems)
    t.same(problems, [`${key}: ${text} is invalid`])
  }
})

t.test('an IPv4-mapped prefix equals the IPv4 prefix', async t => {
  const { admit } = openGuardrails({ ...none, deny_targets: ['::ffff:10.0.0.0/104'] }, [])

  t.throws(() => admit(rule('10.1.2.3')), denied)
  t.throws(() => admit(rule('::ffff:10.1.2.3')), denied)
  t.doesNotThrow(() => admit(rule('11.1.2.3')))
})
