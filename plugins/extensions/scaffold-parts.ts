// Lists what each kind of `sluice plugin new --kind` adds to the generated manifest, README and package.json. Its other
// files are in template/KIND. Texts have placeholders such as __name__.

/** Members of the manifest in plugin.ts or agent.ts. Lists of several kinds are joined. */
export interface PartOfHalf {
  readonly imports: Readonly<Record<string, readonly string[]>> // names by file, without its ending
  readonly members: Readonly<Record<string, string | readonly string[]>> // TypeScript
  readonly needs?: readonly string[] // plugins, in version 1
  readonly deps?: string // the type of `deps` in its routes and slots, from the first file
}

export interface Part {
  readonly purpose: string // completes '`name`: '
  readonly server?: PartOfHalf
  readonly agent?: PartOfHalf
  readonly assets?: string // a folder that the build copies
  /** Lines of the README by section. */
  readonly adds: readonly string[]
  readonly config?: readonly string[]
  readonly errors?: readonly string[]
  readonly metrics?: string
  readonly wire?: string
  readonly example?: string // a line of its section of the configuration
}

export const parts = {
  'rule-field': {
    purpose: 'sets an idle time for single rules',
    server: {
      imports: { 'rule-field': ['fieldFills', 'notTcp'], list: ['list', 'show'] },
      needs: ['rules'],
      members: { codes: ['notTcp'], fills: ['...fieldFills'], routes: ['list'], commands: ['show'] }
    },
    agent: { imports: { 'agent-field': ['agentField'] }, members: { fields: ['agentField'] } },
    adds: [
      '| rule field `__snake___idle_secs` | seconds without traffic after which a connection of the rule is reset; 1 to 86400; TCP rules only; cannot be changed later |',
      '| `sluice rule push --__name__-idle-secs` | the field of a new rule |',
      '| `GET /v1/__name__` | viewers, operators and superadmins: lists rules that set an idle time |',
      '| `sluice __name__ list` | the same list on the command line |'
    ],
    errors: ['| 400 | `validation.__snake___on_udp` | the rule is not a TCP rule |'],
    metrics: '`__snake___rules`: number of rules that set an idle time.',
    wire: 'The field, under its key in `RulePush`. Capability `rule.__name__`.'
  },
  routes: {
    purpose: 'counts rules by protocol',
    server: {
      imports: { counts: ['count'] },
      deps: 'CountDeps',
      needs: ['rules'],
      members: { routes: ['count'] }
    },
    adds: [
      '| `GET /v1/__name__/counts` | viewers, operators and superadmins: how many rules of each protocol there are |'
    ]
  },
  table: {
    purpose: 'keeps notes',
    server: {
      imports: {
        notes: ['noteExplanation', 'noteNotFound', 'noteRoutes'],
        entities: ['Note'],
        'migrations/0001-note': ['Note0001']
      },
      members: {
        codes: ['noteNotFound'],
        store: "{ entities: [Note], migrations: [{ name: '0001-note', class: Note0001 }] }",
        fills: ['noteExplanation'],
        routes: ['...noteRoutes']
      }
    },
    adds: [
      '| `GET /v1/__name__/notes` | viewers, operators and superadmins: lists the notes |',
      '| `POST /v1/__name__/notes` | operators and superadmins: adds a note |',
      '| `DELETE /v1/__name__/notes/:note_id` | operators and superadmins: deletes a note |'
    ],
    errors: ['| 404 | `__snake___note_not_found` | no note has this id |']
  },
  console: {
    purpose: 'adds a page to the console',
    server: { imports: { console: ['consolePage'] }, members: { fills: ['consolePage'] } },
    assets: 'console',
    adds: ['| page `/pages/__name__` of the console | how many clients are connected |']
  },
  page: {
    purpose: 'serves a public page that shows how many clients are connected',
    server: {
      imports: { page: ['pageRoutes'] },
      deps: 'PageDeps',
      needs: ['clients'],
      members: { prefix: "'/__name__'", routes: ['...pageRoutes'] }
    },
    assets: 'assets',
    adds: ['| `GET /__name__` | the page; its script refreshes it every 10 s |']
  },
  authenticator: {
    purpose: 'signs users in by a header from a proxy that has authenticated them',
    server: {
      imports: { authenticator: ['authenticator', 'config'] },
      deps: 'AuthenticatorDeps',
      needs: ['users'],
      members: { config: 'config', fills: ['authenticator'] }
    },
    adds: [
      '| sign-in | a request without `Authorization` is from the user in the header, if its connection comes from one of `proxies`. An unknown or disabled user gets 401. A write needs `Origin` and `X-Svc-CSRF: 1`. The audit log shows `proxy_header` as `auth_method` |'
    ],
    config: [
      '| server | `header` | `x-forwarded-user` | name of the header, in lower case |',
      '| server | `proxies` | `["127.0.0.1"]` | addresses or networks of the proxies, which must remove the header from incoming requests |'
    ],
    example: 'proxies = ["192.0.2.7"] # on the server'
  },
  agent: {
    purpose: 'exports the load of each client as a metric of its agent',
    agent: { imports: { load: ['config', 'metrics'] }, members: { config: 'config', metrics: 'metrics' } },
    adds: ['| metric of the agent | the load of its host |'],
    config: ['| agent | `minutes` | 1 | averaging period in minutes: 1, 5 or 15 |'],
    metrics:
      '`load`, with the prefix `svc_agent_` and the name of the plugin: average number of processes that run or wait.',
    example: 'minutes = 5 # on the agent'
  }
} as const satisfies Readonly<Record<string, Part>>

export type Kind = keyof typeof parts

export const isKind = (text: string): text is Kind => Object.hasOwn(parts, text)
