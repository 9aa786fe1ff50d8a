import { type Static, Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { startWatchdog } from './watchdog.ts'

const config = closed({
  patience_secs: Type.Number({
    minimum: 0.1,
    maximum: 60,
    default: 5,
    description: 'How long code may block the event loop before it is logged.'
  })
})

interface Deps extends Kernel<typeof config> {
  readonly config: Static<typeof config>
}

export default definePlugin<Deps>({
  name: 'watchdog',
  version: '1.0.0',
  kernel: '^2.0.0',
  config,
  async start({ deps: { config, log }, defer }) {
    startWatchdog({ watched: 'server', patienceMs: config.patience_secs * 1000, log, defer })
  }
})
