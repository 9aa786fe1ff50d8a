import { asFunction } from 'awilix'
import { objectKindSlot } from '../../kernel/control/managed-objects.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type PeerCall } from '../../kernel/plugin.ts'
import { on } from '../../kernel/wire/message.ts'
import { removingSlot } from '../clients/exports.ts'
import { documentSchemaSlot } from '../http/exports.ts'
import { removedSlot } from '../rules/exports.ts'
import { removalSlot as userRemovingSlot } from '../users/exports.ts'
import { fills as commandFills, commands } from './commands.ts'
import { Envelope } from './entities.ts'
import { type Envelopes, envelopeNotFound, openEnvelopes, requireLimits, type Services } from './envelopes.ts'
import { field, limitMissing } from './field.ts'
import { burstWithoutRate, limitRange } from './limits.ts'
import { RateLimit0001 } from './migrations/0001-rate-limit.ts'
import { requirement, unsupported } from './requirement.ts'
import { routes } from './routes.ts'
import { DocumentBody, type EnvelopeBody, limitsEmpty } from './schema.ts'
import { openMetrics, openThrottles, type Throttles } from './throttles.ts'
import { messages, Throttled } from './wire.ts'

interface Deps extends Services {
  readonly envelopes: Envelopes
  readonly throttles: Throttles
}

export default definePlugin<Deps>({
  name: 'rate-limit',
  version: '1.0.0',
  description: 'Limits for all rules of an owner on a client together.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', clients: '^1.0.0', users: '^1.0.0', rules: '^1.0.0' },
  codes: [unsupported, envelopeNotFound, limitRange, burstWithoutRate, limitsEmpty, limitMissing],
  store: {
    entities: [Envelope],
    migrations: [{ name: '0001-rate-limit', class: RateLimit0001 }]
  },
  services: {
    envelopes: asFunction(openEnvelopes).singleton(),
    throttles: asFunction(openThrottles).singleton()
  },
  fills: [
    field,
    requirement,
    documentSchemaSlot.fill({
      name: 'owner_limits',
      entry: () => DocumentBody,
      normalize: entry => ({
        ...entry,
        rate_limit: requireLimits({ rate_limit: entry['rate_limit'] } as EnvelopeBody)
      }), // by the schema
      errors: () => [burstWithoutRate, limitsEmpty]
    }),
    ...commandFills,
    objectKindSlot.fillWith(({ envelopes }: Deps) => envelopes.kind),
    connectionSlot.fillWith(({ envelopes }: Deps) => envelopes.connection),
    metricsSlot.fillWith(openMetrics),
    removedSlot.fillWith(({ throttles }: Deps) => throttles.forgetRule),
    removingSlot.fillWith(({ envelopes, throttles }: Deps) => async (client, em) => {
      await envelopes.lifecycle.clientRemoved(client, em)
      throttles.forgetClient(client.id)
    }),
    userRemovingSlot.fillWith(({ envelopes, throttles }: Deps) => ({
      remove(user, em) {
        throttles.forgetOwner(user.id)
        return envelopes.lifecycle.userRemoved(user, em)
      }
    }))
  ],
  messages,
  handlers: [
    on(Throttled, async ({ peer, deps }: PeerCall<Deps>, { waits }) => deps.throttles.record(peer, waits))
  ],
  routes,
  commands,
  start: ({ deps: { envelopes, store } }) => store.change(envelopes.lifecycle.reconcile)
})
