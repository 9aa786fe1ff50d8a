// Throws errors that nobody catches: of a socket at its start, and when the first rule opens.
import { connect } from 'node:net'

export default {
  name: 'dropper',
  agent: '^1.0.0',
  start: async () => void connect(1, '127.0.0.1'), // nobody listens there, nor to its error
  meters() {
    setTimeout(() => {
      throw new Error('dropped')
    })
    return []
  }
}
