import { defineCommand } from '../../kernel/cli/command.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SecretsOfStore } from './secrets.ts'

interface Deps extends Kernel {
  readonly secrets: SecretsOfStore
}

const reset = defineCommand({
  name: 'secrets reset',
  summary: 'Give up the secrets that plugins store, after the loss of store.key; the server must be stopped.',
  needs: 'data',
  async run(call) {
    await call.confirm('Give up all secrets that plugins store? They must be set again.', {
      unattended: 'refuse'
    })
    const { secrets } = (await call.open('secrets')) as Deps // the container of this plugin
    await secrets.reset()
    call.print.done('Start the server, and set the secrets of plugins again.', { reset: true })
  }
})

export const commands = [reset]
