// Which rules their fields have closed, as agents report it. In memory: an agent reports all at each connection.
import type { Peer } from '../../../kernel/control/peers.ts'
import type { Kernel, PeerCall } from '../../../kernel/plugin.ts'
import { on } from '../../../kernel/wire/message.ts'
import { queries } from '../api/queries.ts'
import type { Rule } from '../entities.ts'
import { RulesClosed } from '../wire.ts'

type Ref = Pick<Rule, 'id' | 'clientId'>

export type ClosedRules = ReturnType<typeof openClosedRules>

export function openClosedRules({ store, control }: Pick<Kernel, 'store' | 'control'>) {
  const clients = new Map<string, Map<string, string>>() // reasons by client and rule
  const changed = control.servers.mirror<[string, string][]>({
    key: 'rules.closed',
    value: clientId => [...(clients.get(clientId) ?? [])],
    heard(clientId, reasons) {
      if (reasons) clients.set(clientId, new Map(reasons)) // what was known last stays known
    }
  })

  return {
    /** Takes what the client's agent reports of the client's own rules. */
    async record({ clientId }: Pick<Peer, 'clientId'>, { rules }: RulesClosed): Promise<void> {
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
    /** Called when the client connects: its agent reports what is closed now. */
    joined: ({ clientId }: Pick<Peer, 'clientId'>): void => void clients.delete(clientId),
    forget: ({ clientId, id }: Ref): void => void clients.get(clientId)?.delete(id),
    reasonOf: ({ clientId, id }: Ref): string | null => clients.get(clientId)?.get(id) ?? null
  }
}

interface Deps {
  readonly rules: { readonly closings: ClosedRules }
}

export const closedHandler = on(RulesClosed, ({ peer, deps }: PeerCall<Deps>, body) =>
  deps.rules.closings.record(peer, body)
)
