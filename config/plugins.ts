// The features that come with sluice. A configuration may disable each (`[plugins.<name>] enabled = false`) and add others.
import type { Builtin } from '../kernel/load.ts'
import type { Plugin } from '../kernel/plugin.ts'

export const plugins: Builtin<Plugin> = {
  'advertised-endpoint': () => import('../plugins/advertised-endpoint/plugin.ts'),
  auth: () => import('../plugins/auth/plugin.ts'),
  cli: () => import('../plugins/cli/plugin.ts'),
  clients: () => import('../plugins/clients/plugin.ts'),
  control: () => import('../plugins/control/plugin.ts'),
  credentials: () => import('../plugins/credentials/plugin.ts'),
  enrollment: () => import('../plugins/enrollment/plugin.ts'),
  grants: () => import('../plugins/grants/plugin.ts'),
  http: () => import('../plugins/http/plugin.ts'),
  openapi: () => import('../plugins/openapi/plugin.ts'),
  rules: () => import('../plugins/rules/plugin.ts'),
  stats: () => import('../plugins/stats/plugin.ts'),
  up: () => import('../plugins/up/plugin.ts'),
  users: () => import('../plugins/users/plugin.ts')
}
