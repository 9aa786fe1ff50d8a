// The server half of the notice: each relay of a rule gets the labels of its targets.
import { rules } from 'sluice/plugin'
import { field, notice } from './field.ts'

export const relayNotice = rules.derivedObject({
  ...notice,
  field: 'targets.relay',
  async derive(all, em) {
    const ids = all.map(({ id }) => id)
    const owners = new Map(all.map(({ id, owner }) => [id, owner]))
    const values = await rules.targetValues(field, em, ids)
    return new Map(ids.map(id => [id, noticesOf(Object.values(values.get(id) ?? {}), owners.get(id) ?? '')]))
  }
})

interface Relay {
  readonly client_id: string
  readonly label: string
}

const noticesOf = (relays: readonly Relay[], owner: string) =>
  [...Map.groupBy(relays, ({ client_id }) => client_id)].map(([clientId, own]) => ({
    clientId,
    body: { owner, labels: own.map(({ label }) => label) }
  }))
