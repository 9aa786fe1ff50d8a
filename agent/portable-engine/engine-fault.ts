import type { EngineFault, EngineRule } from '../engine.ts'

export function fault(code: EngineFault['code'], message: string, options?: ErrorOptions): EngineFault {
  return Object.assign(new Error(message, options), { code })
}

/** Turns a system error of node:net or node:dgram into an EngineFault; `where` begins its message. */
export function faultOf(cause: unknown, where: string): EngineFault {
  const { code, message } = cause as NodeJS.ErrnoException // net rejects with nothing else
  if (code === 'EADDRINUSE' || code === 'EACCES') return fault(code, `${where}: ${message}`, { cause })
  if (code === 'EMFILE' || code === 'ENFILE') return fault('EMFILE', `${where}: ${message}`, { cause })
  return fault('EINVAL', `${where}: ${message}`, { cause })
}

/** Throws EINVAL for a rule that no engine can open. */
export function checkRule({ from, to, targets, protocol, name, fallback }: EngineRule): void {
  const isPort = (port: number) => Number.isInteger(port) && port >= 1 && port <= 65_535
  if (!isPort(from) || !isPort(to) || to < from) throw fault('EINVAL', `${from} to ${to} is not a port range`)
  if (targets.length === 0) throw fault('EINVAL', `port ${from} has no target`)
  if ((name !== null || fallback) && (protocol === 'udp' || to !== from))
    throw fault('EINVAL', `port ${from}: only a TCP rule with a single port can share it by name`)
  if (name === '' || (name !== null && fallback))
    throw fault('EINVAL', `port ${from}: a rule has a name or is the fallback, not both`)
  for (const { host, port } of targets)
    if (!isPort(port) || !isPort(port + to - from))
      throw fault('EINVAL', `target ${host}: ${port} to ${port + to - from} is not a port range`)
}
