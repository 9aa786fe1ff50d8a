// The judge of `npm run test:servers -- --only chaos` finds each fault in a faulty log, and none in a correct one.
import t from 'tap'
import { judge } from './judge.ts'
import { firstValue } from './register.ts'
import type { CallAttempt, End, Line, StandbyPromotion } from './run-log.ts'

const ruleId = '01J8Z5M9C5W7R2T4V6X8Y0A1B3'
const path = `/v1/rules/${ruleId}`
const credential = 'CREDENTIAL'

type Part = Partial<CallAttempt> & Pick<CallAttempt, 'began' | 'ended'>

const call = (part: Part): CallAttempt => ({
  kind: 'call',
  server: 'a',
  method: 'GET',
  path,
  by: 'operator',
  status: 200,
  code: '',
  ...part
})
const write = (sent: number, began: number, ended: number, part: Partial<CallAttempt> = {}): CallAttempt =>
  call({ method: 'PATCH', key: `key${sent}`, sent, began, ended, ...part })
const read = (got: number, began: number, ended: number): CallAttempt => call({ got, began, ended })
const me = (began: number, status: number): CallAttempt =>
  call({ path: '/v1/users/me', by: credential, began, ended: began + 1, status })
const revoke = (began: number, ended: number): CallAttempt =>
  call({ method: 'DELETE', path: `/v1/users/ann/credentials/${credential}`, status: 204, began, ended })

const bytes = { bytesIn: 100, bytesOut: 50 }
const endWith = (value: number, part: Partial<End> = {}): End => ({
  kind: 'end',
  stored: { [ruleId]: value },
  agentRules: [[ruleId, value]],
  audited: [],
  totals: { [ruleId]: bytes },
  counted: { [ruleId]: bytes },
  ...part
})
const entries = (...values: number[]) => values.map(value => [ruleId, value] as const)

/** Returns the names of the failed checks. */
const wrongIn = (lines: readonly Line[]): string[] =>
  judge(lines)
    .filter(({ found }) => found.length > 0)
    .map(({ check }) => check)

const reads = 'one order of all calls explains every read'
const point = 'a promoted standby has all writes acknowledged before it was cut off'
const stored = 'the last acknowledged write of each register is in the store'
const audit = 'the audit log has exactly one entry for each acknowledged write'
const rules = 'each agent has the rules of the store with their values'
const totals = 'the totals of the store equal the counts of the agents'
const revoked = 'no revoked token is accepted'

const unanswered = write(2, 30, 35, { status: 0 })
const plain: readonly Line[] = [
  read(firstValue, 1, 2),
  write(1, 10, 20),
  read(1, 21, 22),
  unanswered,
  read(2, 36, 38),
  write(2, 40, 50),
  me(51, 200),
  revoke(52, 60),
  me(61, 401),
  endWith(2, { audited: entries(1, 2) })
]
const end = plain.at(-1) as End

t.test('a log without a failover', async t => {
  const cases: readonly (readonly [string, readonly Line[], readonly string[]])[] = [
    ['a correct log', plain, []],
    ['a read behind an acknowledged write', [read(firstValue, 23, 24), ...plain], [reads]],
    ['a read behind an earlier read', [read(1, 39, 39.5), ...plain], [reads]],
    ['a read of a later write', [read(2, 23, 24), ...plain], [reads]],
    ['a read during a write', [read(1, 31, 37), read(1, 11, 12), ...plain], []],
    ['a read of a value that nobody wrote', [read(7, 55, 56), ...plain], [reads]],
    [
      'the store lacks the last write',
      plain.with(-1, { ...end, ...endWith(1), audited: entries(1, 2) }),
      [stored]
    ],
    ['an entry is missing', plain.with(-1, { ...end, audited: entries(1) }), [audit]],
    ['an entry occurs twice', plain.with(-1, { ...end, audited: entries(1, 2, 2) }), [audit]],
    ['an entry without a write', plain.with(-1, { ...end, audited: entries(1, 2, 3) }), [audit]],
    [
      'a report counts twice',
      plain.with(-1, { ...end, totals: { [ruleId]: { bytesIn: 200, bytesOut: 50 } } }),
      [totals]
    ],
    ['a report is lost', plain.with(-1, { ...end, totals: {} }), [totals]],
    ['an agent has an old value', plain.with(-1, { ...end, agentRules: [[ruleId, 1]] }), [rules]],
    [
      'an agent has a deleted rule',
      plain.with(-1, { ...end, agentRules: [...end.agentRules, ['gone', 1]] }),
      [rules]
    ],
    ['a revoked token is accepted', [...plain, me(70, 200)], [revoked]],
    [
      'a server exited',
      [...plain, { kind: 'ended', server: 'a', code: 70, at: 5 }],
      ['no server exited unexpectedly']
    ],
    ['the final state is missing', plain.slice(0, -1), ['the log is complete']]
  ]
  for (const [name, lines, wrong] of cases) t.same(wrongIn(lines), wrong, name)
})

const promotion: StandbyPromotion = {
  kind: 'promoted',
  began: 100,
  killed: 200,
  ended: 210,
  restored: 250,
  stored: { [ruleId]: 1 }
}
/** The write of 2 is acknowledged and lost; the write of 3 comes later. */
const failedOver: readonly Line[] = [
  write(1, 10, 20),
  write(2, 110, 120),
  read(2, 121, 122),
  revoke(130, 140),
  promotion,
  read(1, 211, 212),
  me(220, 200),
  write(3, 230, 240),
  read(3, 241, 242),
  me(260, 401),
  endWith(3, { audited: entries(1, 3) })
]
const pending = write(2, 110, 115, { status: 0, server: 'b' })

t.test('a log with a failover to a stale standby', async t => {
  const last = failedOver.at(-1) as End
  const cases: readonly (readonly [string, readonly Line[], readonly string[]])[] = [
    ['a correct log', failedOver, []],
    ['a lost write reappears', [...failedOver, read(2, 245, 246)], [reads]],
    ['an unanswered write is applied late', [pending, ...failedOver, read(2, 245, 246)], []],
    [
      'a late value reappears after another one',
      [pending, ...failedOver, read(2, 243, 244), read(3, 245, 246), read(2, 247, 248)],
      [reads]
    ],
    ['a read older than the standby', [...failedOver, read(firstValue, 213, 214)], [reads]],
    ['a read behind a later write', [...failedOver, read(1, 243, 244)], [reads]],
    ['a read that began before the failover may return either value', [...failedOver, read(2, 150, 215)], []],
    [
      'the standby lacks earlier writes',
      failedOver.with(4, { ...promotion, stored: { [ruleId]: firstValue } }),
      [reads, point]
    ],
    ['an entry from before is missing', failedOver.with(-1, { ...last, audited: entries(3) }), [audit]],
    ['an entry from after is missing', failedOver.with(-1, { ...last, audited: entries(1) }), [audit]],
    [
      'a revoked token is accepted after all servers have seen the failover',
      [...failedOver, me(260, 200)],
      [revoked]
    ]
  ]
  for (const [name, lines, wrong] of cases) t.same(wrongIn(lines), wrong, name)
})
