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
export function check({ from, to, targets, protocol, name, fallback }: EngineRule): void {
  const isPort = (port: number) => Number.isInteger(port) && port >= 1 && port <= 65_535
  if (!isPort(from) || !isPort(to) || to < from) throw fault('EINVAL', `${from} to ${to} are no ports`)
  if (targets.length === 0) throw fault('EINVAL', `port ${from} has no target`)
  if ((name !== null || fallback) && (protocol === 'udp' || to !== from))
    throw fault('EINVAL', `port ${from}: only a TCP rule of one port is found by a name`)
  if (name === '' || (name !== null && fallback))
    throw fault('EINVAL', `port ${from}: a rule has a name or is the fallback`)
  for (const { host, port } of targets)
    if (!isPort(port) || !isPort(port + to - from))
      throw fault('EINVAL', `target ${host} has no port for each of ${from} to ${to}`)
}
