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
  'devices that wait for the decision of a user': [
    'plugins/device-login/test/device-login.test.ts',
    'one network cannot take the places of all devices'
  ],
  'unknown device codes of polls': [
    'plugins/device-login/test/device-login.test.ts',
    'a network that guesses device codes is stopped after 100, and others are not'
  ],
  'sign-ins at providers that have come back': [
    'plugins/oidc/test/bounds.test.ts',
    'one network cannot use up the sign-ins of others'
  ],
  'polls of a waiting device': [
    'plugins/device-login/test/device-login.test.ts',
    'a device that polls too often must slow down, by 5 s each time, and another need not'
  ],
  'connections of the operator API and of `/metrics`': [
    'plugins/http/test/connections.test.ts',
    'if no connection is idle, a newcomer replaces one of the network with the most connections'
  ],
  'requests in flight': [
    'plugins/http/test/limits.test.ts',
    'a principal has at most 256 requests in flight'
  ],
  'bodies above 64 KiB': [
    'plugins/http/test/large-bodies.test.ts',
    'two large bodies of a user delay no other user, and no small body'
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
  'messages of `notify` that wait': [
    'plugins/notify/test/delivery.test.ts',
    'a user with messages in a quarter of a channel displaces none of others'
  ],
  'spans of traces that wait for the collector': [
    'plugins/traces/test/traces.test.ts',
    'the payer with the most spans loses its oldest'
  ],
  'stored notifications': [
    'plugins/notify/test/grouping.test.ts',
    'notifications are deleted after 30 days, and the oldest of an owner with more than 1,000'
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
  'objects of a rule on other clients': [
    'plugins/rules/test/derived-objects.test.ts',
    'the objects of an owner on a client have a bound, and another owner has its own'
  ],
  "unsent changes of a client's objects": [
    'plugins/control/test/fair-delivery.test.ts',
    'unanswered changes of one owner do not delay the change of another'
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
  'dials of plugins that a caller or a probe waits for': [
    'test/agent/target-dials.test.ts',
    'a plugin that does not answer in time has failed, and its late connection is canceled'
  ],
  "sockets of the agent's own dials for `explain`, and of its dials for other agents": [
    'test/engine/separate-process.test.ts',
    "the agent's own dials for one owner leave descriptors to another one"
  ],
  'health checks in progress (`health_check_interval_secs`)': [
    'test/engine/separate-process.test.ts',
    'health checks of one owner leave descriptors to another one'
  ],
  'sources with counted connections or failed handshakes': [
    'test/engine/source-limits.test.ts',
    'a flood of sources at one owner leaves the counts of other ones'
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
  ],
  'wrong pins at a link port': [
    'plugins/links/test/agent-bounds.test.ts',
    '8 wrong pins silence a stranger for a minute; a known address gets 20 handshakes a second after 64'
  ],
  'requests that wait for a link connection': [
    'plugins/links/test/agent-bounds.test.ts',
    'one owner cannot use up the waiting requests of a link, and owners take turns'
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

/** Returns the titles of the tests in a file, without the name of the engine that some begin with. No comment is one. */
const titlesIn = (text: string): string[] =>
  [
    ...text.matchAll(
      /^ *(?:await )?(?:t\.test|test)\(\s*(['"`])(.+?)\1,|^ {2}(?:async )?(['"`])(.+?)\3[(:]/gm
    )
  ].map(([, , called = '', , listed = '']) =>
    (called || listed).replace(/^(?:\$\{engine\}|native|portable): /, '')
  )

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
    t.ok(titlesIn(text).includes(name), `${file} runs a test with the title ${name}`)
  }
  t.end()
})
