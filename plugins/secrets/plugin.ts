import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'
import { openSecrets, type SecretsOfStore } from './secrets.ts'

interface Deps extends Kernel {
  readonly secrets: SecretsOfStore
}

export default definePlugin<Deps>({
  name: 'secrets',
  version: '1.0.0',
  description: 'Encrypts what plugins store.',
  kernel: '^2.0.0',
  needs: { certificate: '^1.0.0' },
  exports: { secrets: asFunction(openSecrets).singleton() },
  commands,
  start: ({ deps }) => deps.secrets.check()
})
