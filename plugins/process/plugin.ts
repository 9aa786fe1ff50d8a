import { type Static, Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { superviseProcess } from './process.ts'

const config = closed({
  patience_secs: Type.Number({
    minimum: 0.1,
    maximum: 60,
    default: 5,
    description: 'How long code may block the event loop before it is logged.'
  }),
  return_memory: Type.Boolean({
    default: true,
    description: 'Return unused memory to the system while idle.'
  })
})

interface Deps extends Kernel<typeof config> {
  readonly config: Static<typeof config>
}

export default definePlugin<Deps>({
  name: 'process',
  version: '1.0.0',
  kernel: '^2.0.0',
  config,
  async start({ deps: { config, log }, defer }) {
    superviseProcess({
      watched: 'server',
      patienceMs: config.patience_secs * 1000,
      returnsMemory: config.return_memory,
      log,
      defer
    })
  }
})
