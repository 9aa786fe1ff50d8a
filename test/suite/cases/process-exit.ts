import t from 'tap'

t.test('a test that ends the process', async () => process.exit())
