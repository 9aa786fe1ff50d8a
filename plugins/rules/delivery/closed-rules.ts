// Rules that their fields have closed, as agents report them. In memory, since an agent reports all at each connection.
import type { Peer } from '../../../kernel/control/peers.ts'
import type { Kernel, PeerCall } from '../../../kernel/plugin.ts'
import { on } from '../../../kernel/wire/message.ts'
import { queries } from '../api/queries.ts'
import type { Rule } from '../entities.ts'
import { RulesClosed } from '../wire.ts'

type Ref = Pick<Rule, 'id' | 'clientId'>

export interface ClosedRules {
  /** Records the report of a client's agent; rules of other clients are ignored. */
  record(peer: Pick<Peer, 'clientId'>, report: RulesClosed): Promise<void>
  /** Forgets the client's rules: it has connected, and its agent reports which are closed now. */
  joined(peer: Pick<Peer, 'clientId'>): void
  forget(rule: Ref): void
  /** Returns why the rule is closed; null if it is open. */
  reason(rule: Ref): string | null
}

export function openClosedRules({ store, control }: Pick<Kernel, 'store' | 'control'>): ClosedRules {
  const clients = new Map<string, Map<string, string>>() // reasons by client and rule
  const changed = control.servers.mirror<[string, string][]>({
    key: 'rules.closed',
    value: clientId => [...(clients.get(clientId) ?? [])],
    heard(clientId, reasons) {
      if (reasons) clients.set(clientId, new Map(reasons)) // else the last known reasons stay
    }
  })

  return {
    async record({ clientId }, { rules }) {
      const ids = rules.map(({ rule_id }) => rule_id)
      const known = await store.read(em => queries.loadScopes(ids, em))
      const reasons = clients.get(clientId) ?? new Map<string, string>()
      for (const { rule_id: id, reason } of rules)
        if (reason === '') reasons.delete(id)
        else if (known.get(id)?.clientId === clientId) reasons.set(id, reason)
      if (reasons.size > 0) clients.set(clientId, reasons)
      else clients.delete(clientId)
      changed(clientId)
    },
    joined({ clientId }) {
      clients.delete(clientId)
    },
    forget({ clientId, id }) {
      clients.get(clientId)?.delete(id)
    },
    reason: ({ clientId, id }) => clients.get(clientId)?.get(id) ?? null
  }
}

interface Deps {
  readonly rules: { readonly closedRules: ClosedRules }
}

export const closedHandler = on(RulesClosed, ({ peer, deps }: PeerCall<Deps>, body) =>
  deps.rules.closedRules.record(peer, body)
)
