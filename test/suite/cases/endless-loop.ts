import t from 'tap'

t.test('a test that never returns', async () => {
  for (;;);
})
