// At the first rule that opens it drops an error, which nobody catches.
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
