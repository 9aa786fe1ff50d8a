// All checks, in output order.

import type { DoctorCheck } from '../cli/check-exports.ts'
import { credentials, users } from './checks/access.ts'
import { agent, journal } from './checks/agent.ts'
import { api, certificate } from './checks/certificates.ts'
import { channels } from './checks/channels.ts'
import { approvals, clients, enrollments } from './checks/clients.ts'
import { clock } from './checks/clock.ts'
import { directory, disk } from './checks/directory.ts'
import { endpoint } from './checks/endpoint.ts'
import { engine } from './checks/engine.ts'
import { quotas, rules, targets } from './checks/forwarding.ts'
import { guardrails } from './checks/guardrails.ts'
import { network } from './checks/network.ts'
import { bind, ports } from './checks/ports.ts'
import { descriptors, memory, settings } from './checks/process.ts'
import { resolver, rulePorts } from './checks/saved-rules.ts'
import { sharedHost } from './checks/shared-host.ts'
import { backup, copies, store } from './checks/store.ts'
import { unit } from './checks/unit.ts'

const hostChecks = [directory, disk, clock, ports, bind]
const serverChecks = [
  certificate,
  api,
  sharedHost,
  endpoint,
  store,
  backup,
  copies,
  clients,
  enrollments,
  approvals,
  rules,
  targets,
  quotas,
  users,
  credentials,
  channels
]
const agentChecks = [agent, guardrails, journal, rulePorts, resolver, network]
const processChecks = [engine, descriptors, memory, settings, unit]

export const checks: readonly DoctorCheck[] = [
  ...hostChecks,
  ...serverChecks,
  ...agentChecks,
  ...processChecks
]
