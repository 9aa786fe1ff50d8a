import { controlSlot } from '../../kernel/control/host.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { controlMessages } from '../../kernel/wire/control.ts'
import { openControl } from './control.ts'
import { ClientGeneration } from './entities.ts'
import { Control0001 } from './migrations/0001-generation.ts'
import { sweepTokens } from './sessions/sweep-tokens.ts'
import { keys } from './settings.ts'

export default definePlugin<Kernel<typeof keys>>({
  name: 'control',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { certificate: '^1.0.0', servers: '^1.0.0' },
  keys,
  store: { entities: [ClientGeneration], migrations: [{ name: '0001-generation', class: Control0001 }] },
  fills: [controlSlot.fill(openControl), metricsSlot.fillWith(({ control }: Kernel) => control.metrics)],
  messages: controlMessages,
  async start({ deps, defer }) {
    defer(await sweepTokens(deps))
  }
})
