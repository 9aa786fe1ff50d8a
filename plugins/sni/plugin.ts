import { asFunction } from 'awilix'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel, type PeerCall } from '../../kernel/plugin.ts'
import { on } from '../../kernel/wire/message.ts'
import { removingSlot } from '../clients/exports.ts'
import { portSharingSlot } from '../rules/exports.ts'
import { fills as commandFills } from './commands.ts'
import { explains } from './explain.ts'
import { patternMalformed } from './pattern.ts'
import { openPeeks, type PeekSums } from './peeks.ts'
import { onUnsupportedRule, ruleFields, unsupported } from './rule-fields.ts'
import { fallbackDuplicate, legacyToSni, routeDuplicate, sharing } from './sharing.ts'
import { messages, Peeks } from './wire.ts'

interface Deps extends Kernel {
  readonly peeks: PeekSums
}

export default definePlugin<Deps>({
  name: 'sni',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { clients: '^1.0.0', rules: '^1.0.0' },
  codes: [unsupported, onUnsupportedRule, patternMalformed, legacyToSni, routeDuplicate, fallbackDuplicate],
  services: { peeks: asFunction(openPeeks).singleton() },
  fills: [
    ...ruleFields,
    portSharingSlot.fill(sharing),
    explains,
    removingSlot.fillWith(
      ({ peeks }: Deps) =>
        async client =>
          peeks.forgetClient(client.id)
    ),
    metricsSlot.fillWith(({ peeks }: Deps) => peeks.metrics),
    ...commandFills
  ],
  messages,
  handlers: [
    on(Peeks, async ({ peer, deps }: PeerCall<Deps>, reported) => deps.peeks.receive(peer, reported))
  ]
})
