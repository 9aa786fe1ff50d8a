// Throws an error that nobody catches, when the first rule opens.
export default {
  name: 'dropper',
  agent: '^1.0.0',
  meters() {
    setTimeout(() => {
      throw new Error('dropped')
    })
    return []
  }
}
