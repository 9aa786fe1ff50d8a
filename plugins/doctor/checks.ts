// All checks, in the order of their output.
import { credentials, users } from './checks/access.ts'
import { agent, journal } from './checks/agent.ts'
import { api, certificate } from './checks/certificates.ts'
import { clients, enrollments } from './checks/clients.ts'
import { clock } from './checks/clock.ts'
import { directory, disk } from './checks/directory.ts'
import { endpoint } from './checks/endpoint.ts'
import { engine } from './checks/engine.ts'
import { network } from './checks/network.ts'
import { quotas, rules, targets } from './checks/objects.ts'
import { bind, ports } from './checks/ports.ts'
import { descriptors, memory, settings } from './checks/process.ts'
import { resolver, rulePorts } from './checks/saved-rules.ts'
import { backup, copies, store } from './checks/store.ts'
import { unit } from './checks/unit.ts'
import type { DoctorCheck } from './exports.ts'

const ofTheHost = [directory, disk, clock, ports, bind]
const ofTheServer = [
  certificate,
  api,
  endpoint,
  store,
  backup,
  copies,
  clients,
  enrollments,
  rules,
  targets,
  quotas,
  users,
  credentials
]
const ofTheAgent = [agent, journal, rulePorts, resolver, network]
const ofTheProcess = [engine, descriptors, memory, settings, unit]

export const checks: readonly DoctorCheck[] = [...ofTheHost, ...ofTheServer, ...ofTheAgent, ...ofTheProcess]
