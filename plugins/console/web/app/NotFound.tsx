import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { Head } from '../parts/PageHead.tsx'
import { text } from '../text/text.ts'

export const NotFound = () => (
  <>
    <Head title={text.notFound} />
    <Anchor component={Link} href="/">
      {text.toOverview}
    </Anchor>
  </>
)
