// Message schemas bound everything that a peer sends, before any of it is stored.
import t from 'tap'
import { columns } from '../agent/wire/counters.ts'
import { maxLive, maxRows, StatsReport } from '../agent/wire/journal-report.ts'
import { agentPlugins } from '../config/agent-plugins.ts'
import { plugins as builtin } from '../config/plugins.ts'
import { newId } from '../kernel/platform/id.ts'
import { openCodec } from '../kernel/wire/codec.ts'
import { controlMessages, Hello, InventoryPage, maxInventoryRows } from '../kernel/wire/control.ts'
import { wireMessages } from '../kernel/wire/envelope.ts'
import { frameLimit } from '../kernel/wire/frame.ts'
import { type Message, Refused } from '../kernel/wire/message.ts'
import { unboundedParts } from '../kit/conformance/wire-bounds.ts'
import { Health, maxRulesOfMessage } from '../plugins/multi-target/wire.ts'
import { maxWaits, Throttled } from '../plugins/rate-limit/wire.ts'
import { maxClosed, RulesClosed } from '../plugins/rules/wire.ts'

const load = <T>(halves: Readonly<Record<string, () => Promise<{ readonly default: T }>>>): Promise<T[]> =>
  Promise.all(Object.values(halves).map(async load => (await load()).default))
const serverHalves = await load(builtin)
const agentHalves = await load(agentPlugins)
const declared = [
  ...wireMessages,
  ...controlMessages,
  ...[...serverHalves, ...agentHalves].flatMap(({ messages = [] }) => messages),
  ...agentHalves.flatMap(({ fields = [] }) => fields.map(({ message }) => message))
]
const messages = new Map(declared.map(message => [message.name, message]))
const codec = openCodec([...messages.values()])

t.test('every string, number, list, map and bytes on the wire has a bound', async t => {
  t.same(unboundedParts(declared), [])
  t.ok(messages.size > 30, 'all messages are visited')
})

t.test('patterns on the wire bound the length', async t => {
  const patterns = [...JSON.stringify([...messages.values()]).matchAll(/"pattern":"([^"]+)"/g)]

  for (const [, pattern] of patterns) t.match(pattern, /^\^[^*+]+\$$/)
})

t.test('the largest messages of an agent fit into a frame', async t => {
  const ruleId = newId()
  const counts = Object.fromEntries(columns.map(column => [column, Number.MAX_SAFE_INTEGER]))
  const row = { rule_id: ruleId, kind: 'target', key: `${'h'.repeat(253)}:65535`, ...counts }
  const live = { rule_id: ruleId, port: 65_535, connections: 2 ** 32 - 1 }
  const time = 8.64e15
  const target = {
    state: 'unknown',
    consecutive_failures: Number.MAX_SAFE_INTEGER,
    last_failure_ms: time,
    last_success_ms: time
  }
  const stock = { kind: 'k'.repeat(64), id: 'i'.repeat(128), revision: 2 ** 52, state: 'applied' }
  const report = { epoch: '0'.repeat(32), seq: 1, part: 0, last: true, gap: { from_ms: time, to_ms: time } }
  const largest: readonly (readonly [Message, unknown])[] = [
    [StatsReport, { ...report, rows: Array(maxRows).fill(row), live: Array(maxLive).fill(live) }],
    [Health, { rules: Array(maxRulesOfMessage).fill({ rule_id: ruleId, targets: Array(8).fill(target) }) }],
    [Throttled, { waits: Array(maxWaits).fill({ scope: 'owner', id: 'o'.repeat(32), ms: 2 ** 40 }) }],
    [RulesClosed, { rules: Array(maxClosed).fill({ rule_id: ruleId, reason: 'r'.repeat(32) }) }],
    [InventoryPage, { rows: Array(maxInventoryRows).fill(stock), more: true }]
  ]

  for (const [message, body] of largest)
    t.ok(codec.encode(message, body).length < frameLimit - 256, message.name)
})

t.test('a report of 125,000 empty rows is refused before its rows are read', async t => {
  const report = { epoch: '0'.repeat(32), seq: 1, part: 0, last: true, live: [], rows: [] }
  const emptyRow = [0x2a, 0] // field 5, of length 0
  const bytes = Buffer.concat([
    codec.encode(StatsReport, report),
    Buffer.from(Array.from({ length: 125_000 }, () => emptyRow).flat())
  ])

  t.throws(() => codec.decode(StatsReport, bytes), new Refused('wire.malformed', ''))
  t.throws(() => codec.decode(StatsReport, bytes), /rows has more than 500 entries/)
})

t.test(
  'a map with too many keys is refused before its values are read, inside an object as well',
  async t => {
    const entry = (key: string): number[] => [0x0a, key.length + 2, 0x0a, key.length, ...Buffer.from(key)]
    const versions = Buffer.from(Array.from({ length: 10_000 }, (_, at) => entry(String(at))).flat())
    const length = Buffer.from([
      (versions.length & 0x7f) | 0x80,
      ((versions.length >> 7) & 0x7f) | 0x80,
      versions.length >> 14
    ])

    t.throws(
      () => codec.decode(Hello, Buffer.concat([Buffer.from([0x22]), length, versions])), // capabilities
      /versions has more than 256 entries/
    )
  }
)

t.test('a rule with 60,000 empty targets is also refused', async t => {
  const targets = Buffer.from(Array.from({ length: 60_000 }, () => [0x12, 0]).flat())
  const length = Buffer.from([
    (targets.length & 0x7f) | 0x80,
    ((targets.length >> 7) & 0x7f) | 0x80,
    targets.length >> 14
  ])

  t.throws(
    () => codec.decode(Health, Buffer.concat([Buffer.from([0x0a]), length, targets])),
    /targets has more than 8 entries/
  )
})
