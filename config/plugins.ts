// The built-in plugins. A configuration may disable each (`[plugins.<name>] enabled = false`) and add others.

import type { Plugin } from '../kernel/plugin.ts'
import type { Builtin } from './external/load.ts'

export const plugins: Builtin<Plugin> = {
  'advertised-endpoint': () => import('../plugins/advertised-endpoint/plugin.ts'),
  apply: () => import('../plugins/apply/plugin.ts'),
  audit: () => import('../plugins/audit/plugin.ts'),
  auth: () => import('../plugins/auth/plugin.ts'),
  backup: () => import('../plugins/backup/plugin.ts'),
  cli: () => import('../plugins/cli/plugin.ts'),
  clients: () => import('../plugins/clients/plugin.ts'),
  control: () => import('../plugins/control/plugin.ts'),
  credentials: () => import('../plugins/credentials/plugin.ts'),
  doctor: () => import('../plugins/doctor/plugin.ts'),
  enrollment: () => import('../plugins/enrollment/plugin.ts'),
  extensions: () => import('../plugins/extensions/plugin.ts'),
  grants: () => import('../plugins/grants/plugin.ts'),
  health: () => import('../plugins/health/plugin.ts'),
  http: () => import('../plugins/http/plugin.ts'),
  journal: () => import('../plugins/journal/plugin.ts'),
  labels: () => import('../plugins/labels/plugin.ts'),
  memory: () => import('../plugins/memory/plugin.ts'),
  installer: () => import('../plugins/installer/plugin.ts'),
  metrics: () => import('../plugins/metrics/plugin.ts'),
  'multi-target': () => import('../plugins/multi-target/plugin.ts'),
  openapi: () => import('../plugins/openapi/plugin.ts'),
  'proxy-protocol': () => import('../plugins/proxy-protocol/plugin.ts'),
  quota: () => import('../plugins/quota/plugin.ts'),
  'port-range': () => import('../plugins/port-range/plugin.ts'),
  'rate-limit': () => import('../plugins/rate-limit/plugin.ts'),
  rules: () => import('../plugins/rules/plugin.ts'),
  schedule: () => import('../plugins/schedule/plugin.ts'),
  service: () => import('../plugins/service/plugin.ts'),
  setup: () => import('../plugins/setup/plugin.ts'),
  sni: () => import('../plugins/sni/plugin.ts'),
  stats: () => import('../plugins/stats/plugin.ts'),
  traffic: () => import('../plugins/traffic/plugin.ts'),
  udp: () => import('../plugins/udp/plugin.ts'),
  up: () => import('../plugins/up/plugin.ts'),
  users: () => import('../plugins/users/plugin.ts'),
  watchdog: () => import('../plugins/watchdog/plugin.ts')
}
