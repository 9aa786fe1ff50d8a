import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import { explainSlot, pathExplainerSlot } from '../rules/exports.ts'
import { commands } from './commands.ts'
import { type Explanations, openExplanations } from './explanations.ts'
import { routes } from './routes.ts'
import type { Services } from './server-steps.ts'
import { messages } from './wire.ts'

interface Deps extends Services {
  readonly explanations: Explanations
}

export default definePlugin<Deps>({
  name: 'explain',
  version: '1.0.0',
  description: 'Explains what happens to a caller of a port.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', clients: '^1.0.0', rules: '^1.0.0' },
  slots: [explainSlot, pathExplainerSlot],
  services: { explanations: asFunction(openExplanations).singleton() },
  messages,
  routes,
  commands
})
