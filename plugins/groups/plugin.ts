import { asFunction } from 'awilix'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { changedSlot } from '../clients/exports.ts'
import { admissionChangedSlot, type Rules, removedSlot } from '../rules/exports.ts'
import { clientsField, type Deps as FieldDeps } from './clients-field.ts'
import { fills as commandFills } from './commands.ts'
import { GroupClients } from './entities.ts'
import { invalidClients } from './group-clients.ts'
import { explains } from './group-explainer.ts'
import { type Membership, openMembership } from './membership.ts'
import { Groups0001 } from './migrations/0001-groups.ts'

interface Deps extends FieldDeps {
  readonly rules: Rules
  readonly membership: Membership
}

const retryMs = 10_000

export default definePlugin<Deps>({
  name: 'groups',
  version: '1.0.0',
  description: 'Rules on groups of clients: by ids, or by a selector of labels that clients join and leave.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', clients: '^1.0.0', rules: '^1.0.0' },
  codes: [invalidClients],
  store: { entities: [GroupClients], migrations: [{ name: '0001-groups', class: Groups0001 }] },
  services: { membership: asFunction(openMembership).singleton() },
  fills: [
    clientsField,
    explains,
    ...commandFills,
    changedSlot.fillWith(
      ({ membership }: Deps) =>
        async ({ id }, em) =>
          afterCommit(em, () => membership.syncClient(id))
    ),
    admissionChangedSlot.fillWith(
      ({ membership }: Deps) =>
        async ({ userId, clientId }, em) =>
          afterCommit(em, () => membership.syncUser(userId, clientId))
    ),
    connectionSlot.fillWith(({ membership }: Deps) => ({
      joined: ({ clientId }) => membership.retryClient(clientId)
    })),
    removedSlot.fillWith(
      ({ membership }: Deps) =>
        async ({ clientId, parent }, em) =>
          afterCommit(em, () => {
            if (parent !== undefined) membership.syncMember(clientId, parent)
            else if (clientId !== '') membership.retryClient(clientId)
          })
    )
  ],
  async start({ deps: { clock, membership, rules }, defer }) {
    await rules.syncMembers()
    defer(clock.every(retryMs, () => void membership.retryAll()))
  }
})
