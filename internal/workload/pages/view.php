<?php
// An item, who sells it, and its highest bids.
require 'page.php';
$shop = shop();
$item = rows($shop, 'select i.*, u.name as seller_name, u.rating from items i join users u on u.id = i.seller where i.id = ?',
    [asked($_GET, 'item')]);
$bids = rows($shop, 'select u.name, b.amount from bids b join users u on u.id = b.user where b.item = ? order by b.amount desc limit 10',
    [asked($_GET, 'item')]);
page($item[0]['name'], table($item) . table($bids));
