import type { EngineRule } from '../../engine.ts'
import type { EngineContext } from '../engine-context.ts'
import { type OnDatagram, UdpPort } from './udp-port.ts'

/** Listens on every port of the range on every address of `bind`, or on none: rejects with an EngineFault. Returns the
 * call that closes all sockets; it resolves when the last one is closed. */
export async function listenUdp(
  { from, to }: Pick<EngineRule, 'from' | 'to'>,
  { bind, descriptors }: Pick<EngineContext, 'bind' | 'descriptors'>,
  onDatagram: OnDatagram
): Promise<() => Promise<void>> {
  const ports: UdpPort[] = []
  const close = async () => void (await Promise.all(ports.map(port => port.close())))
  try {
    for (let number = from; number <= to; number++) {
      const port = new UdpPort(number, descriptors, onDatagram)
      ports.push(port)
      port.open(bind)
    }
    return close
  } catch (error) {
    await close()
    throw error
  }
}
