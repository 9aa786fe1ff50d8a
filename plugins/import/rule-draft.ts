// A rule in the making: what a source says about one listener, before it becomes one or more rules of the document.
import type { Ports } from './address.ts'
import type { Reason } from './reasons.ts'
import type { Statement } from './report.ts'

type Balance = 'round_robin' | 'least_connections' | 'source_hash' | 'random_two'

export interface DraftTarget {
  readonly host: string
  /** `fixed`: every listen port goes to this port. `shifted`: listen port p goes to p + port. */
  readonly port: number
  readonly kind: 'fixed' | 'shifted'
  readonly priority: number // used with several targets
  readonly weight: number
  readonly via?: readonly string[] // the clients on the path, the last one dials; by default, that of the rule
  readonly statement: Statement
  /** Named if the target differs from the source. */
  readonly reason: Reason | null
}

/** A statement that became a field of the rule, such as `balance`; `''` for the whole rule. */
export interface Note {
  readonly statement: Statement
  readonly field: string
  readonly reason: Reason | null
}

export interface RuleDraft {
  readonly client: string
  readonly statement: Statement // names the rule in the report
  readonly listen: Ports
  readonly listenHost: string // '' or a wildcard: all addresses. Rules listen on all addresses of their client
  readonly protocol: 'tcp' | 'udp'
  blamed: Statement // gets the reason if the rule is refused; by default `statement`
  name: string | null
  description: string | null
  balance: Balance | null // null: by priority
  healthCheckSecs: number | null
  slowStartSecs: number | null
  proxyIn: readonly string[] | null
  proxyOut: 1 | 2 | null
  allowSources: readonly string[] | null
  denySources: readonly string[] | null
  sourceConnections: number | null
  sourceRate: { readonly count: number; readonly secs: number } | null // new connections of a caller
  sniPattern: string | null
  isSniFallback: boolean
  isPaused: boolean
  preferIpv6: boolean
  readonly rateLimit: Record<string, number>
  readonly targets: DraftTarget[]
  readonly notes: Note[]
}

export const openDraft = (
  given: Pick<RuleDraft, 'client' | 'statement' | 'listen' | 'listenHost' | 'protocol'>
): RuleDraft => ({
  ...given,
  blamed: given.statement,
  name: null,
  description: null,
  balance: null,
  healthCheckSecs: null,
  slowStartSecs: null,
  proxyIn: null,
  proxyOut: null,
  allowSources: null,
  denySources: null,
  sourceConnections: null,
  sourceRate: null,
  sniPattern: null,
  isSniFallback: false,
  isPaused: false,
  preferIpv6: false,
  rateLimit: {},
  targets: [],
  notes: []
})

/** A source can have more notes than a call can have arguments. */
export function addNotes(draft: Pick<RuleDraft, 'notes'>, notes: readonly Note[]): void {
  for (const note of notes) draft.notes.push(note)
}

/** Any proxy may send a header, as most sources accept it. */
export const anySource: readonly string[] = ['0.0.0.0/0', '::/0']
