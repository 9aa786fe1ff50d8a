// SECURITY.md says what a tenant, a caller, an agent, an operator and a neighbor cannot do. Each line has its tests here.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

type Proof = readonly [file: string, title: string]

const proofs: Readonly<Record<string, readonly Proof[]>> = {
  T1: [
    [
      'plugins/grants/test/exit-grants.test.ts',
      'a rule with a path needs an exit grant for each client of it'
    ],
    [
      'plugins/grants/test/admission.test.ts',
      'checks run in order: owner, client, protocol, port, target, connection'
    ],
    ['plugins/grants/test/admission.test.ts', 'a target must be in the list of one covering grant'],
    ['plugins/grants/test/edge.e2e.ts', 'a target list that takes effect cuts the connections it denies'],
    [
      'plugins/grants/test/targets.test.ts',
      'an IPv6 address that leads to an IPv4 address must be in the list with it'
    ]
  ],
  T2: [
    ['test/access/matrix.test.ts', 'every route responds to every kind of caller as the table specifies'],
    ['plugins/connections/test/connections.test.ts', 'users see and close their own']
  ],
  T3: [
    [
      'test/access/two-worlds.test.ts',
      'all requests of a tenant get the same replies whether hidden clients'
    ],
    ['plugins/groups/test/membership.test.ts', 'the group of a user has only clients that a grant covers']
  ],
  T4: [
    ['test/worst-bodies.test.ts', 'each part of a refused body is read a few times at most'],
    [
      'plugins/http/test/fair-turns.test.ts',
      'a burst of writes of one user does not delay the read of another'
    ],
    ['plugins/http/test/fair-turns.test.ts', '/livez is answered before all requests that wait']
  ],
  T5: [['test/bounds.test.ts', 'a test of each shared bound lets one owner use it up, and serves another']],
  T6: [
    ['plugins/bans/test/fair-bans.test.ts', 'a rule that bans many sources lifts no ban of an operator'],
    [
      'plugins/bans/test/fair-bans.test.ts',
      'an operator can ban a source while the rules of a client have all their bans'
    ]
  ],
  T7: [
    ['test/e2e/up.e2e.ts', 'no rule of the agent of up leads to the API, the metrics or the control port'],
    ['test/agent/guardrails.test.ts', 'by default the metadata services of clouds are denied, in each form']
  ],
  T8: [
    [
      'plugins/auth/test/known-addresses.test.ts',
      'a user signs in from a known address although others have locked it'
    ],
    [
      'plugins/auth/test/known-addresses.test.ts',
      'a tenant at the address of an administrator locks nobody out who signs in with a known browser'
    ],
    [
      'plugins/auth/test/throttle.test.ts',
      'a subject with a hundred failures is slowed to one attempt a second, never locked'
    ]
  ],
  T9: [['plugins/audit/test/retention.test.ts', 'nobody pushes out those of others']],
  T10: [['plugins/sni/test/sharing.test.ts', 'a pattern of one owner must not match a name of another']],
  C1: [
    [
      'test/engine/separate-process.test.ts',
      'dials of one owner at many silent addresses leave descriptors to another one'
    ],
    [
      'test/engine/cases/tls-names.ts',
      'a thousand silent callers of one address keep no other address out of a shared port'
    ],
    [
      'test/engine/source-limits.test.ts',
      'native: a flood of sources at one owner leaves the counts of other ones'
    ],
    ['test/engine/native-record-overflow.test.ts', 'a flood of one owner leaves the records of another one']
  ],
  C2: [
    [
      'test/engine/resolver.test.ts',
      'a name of one owner resolves at once while the dead names of another wait'
    ]
  ],
  C3: [['test/engine/cases/embedded-addresses.ts', 'callers behind a translator are separate sources']],
  C4: [
    ['plugins/auth/test/session-binding.test.ts', 'a stolen cookie of a session with a key opens nothing'],
    [
      'plugins/console/test/session-binding.browser.ts',
      'a page on another port gets the cookie, and neither opens nor locks'
    ]
  ],
  A1: [
    ['plugins/stats/test/report-validation.test.ts', "an agent cannot change another client's metrics"],
    ['test/e2e/hostile-reports.e2e.ts', 't.test(']
  ],
  A2: [
    ['plugins/control/test/flood.test.ts', '1,000 statuses of an object are recorded as a few results'],
    ['plugins/stats/test/report-validation.test.ts', 'a client has at most 20,000 epochs and 200,000 rows'],
    ['test/wire-bounds.test.ts', 't.test(']
  ],
  A3: [
    [
      'plugins/control/test/sessions.test.ts',
      'a token that is revoked while its stream joins ends the session'
    ]
  ],
  A4: [
    [
      'plugins/control/test/sessions.test.ts',
      'two agents with one bundle do not take the session from each other'
    ]
  ],
  A5: [
    [
      'test/agent/server-connection.test.ts',
      'a certificate that is not pinned ends the connection before the agent sends data'
    ]
  ],
  A6: [
    ['plugins/links/test/agent-hostile.test.ts', 'forged requests dial nothing'],
    [
      'plugins/links/test/agent-hostile.test.ts',
      '300 mutated conversations end at most their own link connections'
    ]
  ],
  A7: [
    [
      'plugins/links/test/agent-hostile.test.ts',
      'a peer that names a link of another pair, or no link, is refused'
    ],
    ['plugins/links/test/link-keys.test.ts', 'an agent cannot report the key of another client']
  ],
  O1: [
    ['test/agent/guardrails.test.ts', 'every port of a rule must be in allow_ports'],
    [
      'test/agent/config.test.ts',
      'an empty list of denied targets in the environment does not lift the guardrail'
    ]
  ],
  O2: [
    ['plugins/auth/test/login.test.ts', 'the store contains no secret in plain text'],
    ['test/access/attack-replay.test.ts', 'a hash from the store is not accepted as a token']
  ],
  O3: [['plugins/audit/test/entries.test.ts', 'a change and its entry are one transaction']],
  N1: [
    [
      'test/agent/bundle.test.ts',
      'a bundle that is invalid or that others can read is refused with a remedy'
    ],
    ['test/e2e/exit-codes.e2e.ts', 'insecure_permissions']
  ],
  N2: [
    ['test/agent/local-commands.e2e.ts', 'only its owner can use the socket, which is removed at the stop']
  ],
  N3: [
    ['plugins/extensions/test/trust.test.ts', 'changed files run only after they are trusted again'],
    ['plugins/extensions/test/trust.test.ts', 'a dependency that other users can write is refused']
  ],
  N4: [['test/access/secrets.e2e.ts', 'no secret appears outside its allowed places']],
  N5: [
    ['test/access/attack-csrf.test.ts', 'only our own origin can write'],
    [
      'plugins/http/test/host.test.ts',
      'a page with a name that resolves to loopback gets nothing from the API'
    ]
  ],
  N6: [
    [
      'plugins/cli/test/completion.test.ts',
      'names from the server are neither evaluated nor expanded in bash'
    ]
  ]
}

const root = join(import.meta.dirname, '..')
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

t.test('each line of SECURITY.md about what somebody cannot do has a test', async t => {
  const ids = [...textOf('SECURITY.md').matchAll(/^\| ([A-Z]\d+) \|/gm)].map(([, id]) => id)

  t.same(ids, Object.keys(proofs), 'in the same order')
  for (const [id, tests] of Object.entries(proofs))
    for (const [file, title] of tests) t.ok(textOf(file).includes(title), `${id}: ${file} has "${title}"`)
})
