// Input of suite.test.ts: the test ends its process.
import t from 'tap'

t.test('a test that ends the process', async () => process.exit())
