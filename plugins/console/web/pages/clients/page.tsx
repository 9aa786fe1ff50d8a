import { ListAndDetail } from '../../parts/page/ListAndDetail.tsx'
import { ClientDetail } from './ClientDetail.tsx'
import { ClientList } from './ClientList.tsx'

export default function Clients() {
  return <ListAndDetail path="/clients" list={ClientList} detail={ClientDetail} />
}
