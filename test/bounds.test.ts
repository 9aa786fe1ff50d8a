// docs/BOUNDS.md: a bound that tenants or callers share has a share for each of them, and a test that shows it. Each test
// lets one owner use up the bound, and then serves another.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

interface Bound {
  readonly name: string
  readonly by: string
  readonly share: string
}

/** Tests by the row of the table: the file and the name of the test. */
const scenarios: Readonly<Record<string, readonly [file: string, test: string]>> = {
  'connections of the operator API and of `/metrics`': [
    'plugins/http/test/connections.test.ts',
    'if no connection is idle, a newcomer replaces one of the network with the most connections'
  ],
  'requests in flight': [
    'plugins/http/test/limits.test.ts',
    'a principal has at most 256 requests in flight'
  ],
  'CPU time of requests': [
    'plugins/http/test/fair-turns.test.ts',
    'a burst of writes of one user does not delay the read of another'
  ],
  'callers with a known CPU budget': [
    'plugins/http/test/fair-turns.test.ts',
    'a debt is not forgotten, however many callers come'
  ],
  'unread events of a stream': [
    'plugins/http/test/streams.test.ts',
    'a seventeenth stream of one principal is refused, and another principal is not'
  ],
  'password hashes': [
    'plugins/auth/test/hash-pool.test.ts',
    'a flood of one address or one subject makes room for others, and for nobody else'
  ],
  'users with a cached change signal, for `GET /v1/changes`': [
    'plugins/console/test/change-counter.test.ts',
    'a thousand users that poll cost another a reload, and no change'
  ],
  'probes of targets for `explain`': [
    'plugins/explain/test/explain.test.ts',
    'an owner with probes that fill an agent does not keep others from probing'
  ],
  'audit entries of denied and refused requests': [
    'plugins/audit/test/denials.test.ts',
    '1,100 refused requests of one user with audit_max_rows 1,000 leave the entries of the others'
  ],
  'the audit log': [
    'plugins/audit/test/retention.test.ts',
    'the entries of the users that have most are deleted first: nobody pushes out those of others'
  ],
  'bans that rules cause on a client; those of one rule': [
    'plugins/bans/test/fair-bans.test.ts',
    'a rule that bans many sources lifts no ban of an operator or of another rule'
  ],
  'bans that rules of an owner make on an agent': [
    'plugins/bans/test/fair-bans.test.ts',
    'the rules of an owner ban at most 100 sources at once, and 50 a second'
  ],
  'log lines about bans on an agent': [
    'plugins/bans/test/fair-bans.test.ts',
    'the log lines of one owner about bans do not suppress those of another'
  ],
  'log lines about names that do not resolve, and about UDP flows': [
    'test/agent/engine-log.test.ts',
    'the rules of an owner log 21 lines about names in 10 s, and those of another are logged'
  ],
  'unreported bans of an agent': [
    'plugins/bans/test/fair-bans.test.ts',
    'an agent reports a few bans a second, those of all owners in turn'
  ],
  'requests to agents at peer servers': [
    'plugins/servers/test/request-relay.test.ts',
    'requests that wait for one client do not refuse those to another'
  ],
  'responses for idempotency keys': [
    'plugins/http/test/idempotency.test.ts',
    'a response is kept for a day, and at most 1,000 per principal'
  ],
  'changes in one sync': [
    'test/kernel/store-changes.test.ts',
    'a change waits for at most one change of each other payer, and for no sync of a later one'
  ],
  'parts of a request in one transaction': [
    'plugins/rules/test/bulk.test.ts',
    'large changes of one user do not delay the change of another until all are made'
  ],
  "rows of an agent's reports": [
    'plugins/stats/test/report-validation.test.ts',
    'a client has at most 20,000 epochs and 200,000 rows; a report beyond them adds no row'
  ],
  "unsent changes of a client's objects": [
    'plugins/control/test/fair-delivery.test.ts',
    "the change of one owner does not wait for a thousand changes of another's"
  ],
  'log lines about ejected and returning targets': [
    'plugins/multi-target/test/ejection-log.test.ts',
    "the flapping targets of one owner do not keep another owner's out of the log"
  ],
  'descriptors of an agent: connections, flows, dials, health checks, transfers in pipes': [
    'test/engine/separate-process.test.ts',
    'an owner that holds most descriptors gives them back to another one'
  ],
  'attempts of a dial at once, at the addresses of a name': [
    'test/engine/separate-process.test.ts',
    'dials of one owner at many silent addresses leave descriptors to another one'
  ],
  'health checks in progress (`health_check_interval_secs`)': [
    'test/engine/separate-process.test.ts',
    'health checks of one owner leave descriptors to another one'
  ],
  'sources with counted connections or failed handshakes': [
    'test/engine/source-limits.test.ts',
    'native: a flood of sources at one owner leaves the counts of other ones'
  ],
  'unread records of ended connections': [
    'test/engine/native-record-overflow.test.ts',
    'while JavaScript is busy, a flood of one owner leaves the records of another one'
  ],
  'unwritten lines of the access log': [
    'plugins/access-log/test/line-shares.test.ts',
    'a flood of one owner leaves lines to an owner that had none'
  ],
  'pipes with the bytes of stalled transfers': [
    'test/engine/native-pipe-limit.test.ts',
    'transfers beside and after stalled ones are spliced through large pipes'
  ],
  'probes of rules without traffic': [
    'plugins/multi-target/test/probe-queue.test.ts',
    'an owner with many rules leaves half of the places to others'
  ],
  'log lines about targets of rules without traffic': [
    'plugins/multi-target/test/line-limit.test.ts',
    'an owner with many dead targets does not keep the lines of another owner out of the log'
  ],
  'DNS lookups in flight': [
    'test/engine/resolver.test.ts',
    'a name of one owner resolves at once while the dead names of another wait'
  ],
  'names that wait for a DNS lookup': [
    'test/engine/resolver.test.ts',
    'beyond 256 names in line an owner is refused, and nobody else'
  ],
  'cached DNS answers of the agent': [
    'test/engine/resolver.test.ts',
    'a full cache evicts names of the owner with the most, whatever their expiry'
  ],
  'cached names of targets in an engine': [
    'test/matrix/target-names.test.ts',
    "callers of one owner connect while another's names get no answer"
  ],
  "callers of a port that wait for a proxy's header or a ClientHello": [
    'test/engine/cases/tls-names.ts',
    'a thousand silent callers of one address keep no other address out of a shared port'
  ],
  'unreported entries for the journals of rules': [
    'test/agent/queues.test.ts',
    'a share that fills the queue loses its own items, in this process and the next'
  ]
}

const rows: readonly Bound[] = readFileSync(join(root, 'docs/BOUNDS.md'), 'utf8')
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| What grows'))
  .map(line => {
    const [, name = '', by = '', , share = ''] = line.split('|').map(cell => cell.trim())
    return { name, by, share }
  })

const isShared = ({ by }: Bound): boolean => /tenant|caller|principal/.test(by)
const needsScenario = (row: Bound): boolean =>
  isShared(row) && !/^(one owner|operator|not needed: .+)$/.test(row.share)

t.test('a bound that tenants or callers share has a share for each', t => {
  t.same(
    rows.filter(row => isShared(row) && /^(none)?$/.test(row.share)).map(({ name }) => name),
    [],
    'say in the column Share what each owner has for itself'
  )
  t.end()
})

t.test('a test of each shared bound lets one owner use it up, and serves another', t => {
  t.same(
    rows.filter(needsScenario).map(({ name }) => name),
    rows.map(({ name }) => name).filter(name => Object.hasOwn(scenarios, name)),
    'name the test of each row here'
  )
  const known = new Set(rows.map(({ name }) => name))
  t.same(
    Object.keys(scenarios).filter(name => !known.has(name)),
    [],
    'a row was removed or renamed'
  )
  for (const [file, name] of Object.values(scenarios)) {
    const text = readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'")
    t.ok(text.includes(name), `${file} has the test ${name}`)
  }
  t.end()
})
