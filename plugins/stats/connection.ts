// What the server half does as clients connect and leave.
import type { ConnectionHooks } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { ActiveConnections } from './active-connections.ts'
import type { Ledger } from './ledger.ts'
import { CommittedEpochs, LastReport, welcomePart } from './wire.ts'

interface Services extends Pick<Kernel, 'store' | 'log' | 'codec'> {
  readonly ledger: Pick<Ledger, 'committedSeqs'>
  readonly activeConnections: Pick<ActiveConnections, 'joined' | 'left'>
}

export const openConnection = ({
  store,
  log,
  codec,
  ledger,
  activeConnections
}: Services): ConnectionHooks => ({
  async welcome({ clientId }) {
    const booked = await store.read(em => ledger.committedSeqs(clientId, em))
    return { [welcomePart]: codec.encode(CommittedEpochs, { booked }) }
  },
  joined: ({ clientId }) => activeConnections.joined(clientId),
  left: ({ clientId }) => activeConnections.left(clientId),
  async leaving(peer) {
    try {
      await peer.request(LastReport, {})
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      log.debug('stats.no_last_report', error.message, { client_id: peer.clientId })
    }
  }
})
