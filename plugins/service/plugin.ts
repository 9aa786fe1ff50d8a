import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { serverLifeSlot } from '../cli/exports.ts'
import type { Rules } from '../rules/exports.ts'
import { commands } from './commands.ts'
import { openServerNotifications, type ServerNotifications } from './server-notifications.ts'

interface Deps extends Kernel {
  readonly rules: Rules
  readonly notifications: ServerNotifications
}

export default definePlugin<Deps>({
  name: 'service',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { cli: '^1.0.0', rules: '^1.0.0' },
  services: { notifications: asFunction(openServerNotifications).singleton() },
  fills: [serverLifeSlot.fillWith(({ notifications }: Deps) => notifications.life)],
  commands,
  start: ({ deps: { notifications }, defer, signal }) => notifications.start(defer, signal)
})
