import type { EngineFault, EngineRule } from '../engine.ts'

export function fault(code: EngineFault['code'], message: string, options?: ErrorOptions): EngineFault {
  return Object.assign(new Error(message, options), { code })
}

/** What the system says, in the engine's words. */
export function faultOf(cause: unknown, where: string): EngineFault {
  const { code, message } = cause as NodeJS.ErrnoException // net rejects with nothing else
  if (code === 'EADDRINUSE' || code === 'EACCES') return fault(code, `${where}: ${message}`, { cause })
  if (code === 'EMFILE' || code === 'ENFILE') return fault('EMFILE', `${where}: ${message}`, { cause })
  return fault('EINVAL', `${where}: ${message}`, { cause })
}

/** What no plan may ask for. */
export function check({ from, to, targets }: EngineRule): void {
  const isPort = (port: number) => Number.isInteger(port) && port >= 1 && port <= 65_535
  if (!isPort(from) || !isPort(to) || to < from) throw fault('EINVAL', `${from} to ${to} are no ports`)
  if (targets.length === 0) throw fault('EINVAL', `port ${from} has no target`)
  for (const { host, port } of targets)
    if (!isPort(port) || !isPort(port + to - from))
      throw fault('EINVAL', `target ${host} has no port for each of ${from} to ${to}`)
}
