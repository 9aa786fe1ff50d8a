// Throws uncaught errors: of a socket at its start, and when the first rule opens.
import { connect } from 'node:net'

export default {
  name: 'dropper',
  agent: '^1.0.0',
  start: async () => void connect(1, '127.0.0.1'), // fails, without an error listener
  meters() {
    setTimeout(() => {
      throw new Error('dropped')
    })
    return []
  }
}
